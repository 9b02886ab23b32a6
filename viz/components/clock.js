// Asks for another run of the fragment that it stands in, again and again, for as long as Python says.
//
// Streamlit's own clock (run_every) can only be set and stopped by a run of the whole page, and a run of the whole
// page that was asked for by a clock overtakes a page link that is being followed.

const app = () => document.querySelector('[data-testid="stApp"]');
const isBusy = () => app()?.dataset.testScriptState === "running" || "following" in document.documentElement.dataset;

export default function ({ parentElement, data, setTriggerValue }) {
  const stop = () => clearInterval(parentElement.clock);
  stop();
  if (data.seconds) {
    parentElement.clock = setInterval(() => {
      if (!isBusy()) setTriggerValue("tick", true);
    }, data.seconds * 1000);
  }
  return stop;
}
