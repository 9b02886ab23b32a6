// Light, dark or the system's choice, for the whole app at once.
//
// Streamlit has no call for this, only its own menu. The menu's choice is a React context, found here from this
// component's own element upwards; so a change is as quick as the menu's, and nothing is reloaded.

const REMEMBERED = "headlight-theme";
const CHOICES = ["System", "Light", "Dark"];

function themeContext(element) {
  const fiberKey = (node) => Object.keys(node).find((name) => name.startsWith("__reactFiber$"));
  let node = element;
  while (node && !fiberKey(node)) node = node.parentElement;
  for (let fiber = node?.[fiberKey(node)]; fiber; fiber = fiber.return) {
    const value = fiber.memoizedProps?.value;
    if (value?.setTheme && value.availableThemes) return value;
  }
  return null;
}

function themeNamed(choice, context) {
  const suffix = choice === "System" ? "Auto" : choice;
  return context.availableThemes.find((theme) => theme.name.endsWith(suffix));
}

export default function ({ parentElement, data, setTriggerValue }) {
  const host = parentElement.host ?? parentElement;
  const group = parentElement.querySelector("fieldset");

  const apply = (choice) => {
    const context = themeContext(host);
    const theme = context && themeNamed(choice, context);
    if (theme && theme.name !== context.activeTheme.name) context.setTheme(theme);
  };

  // Python draws its figures in the theme that it was told at a run: ask for another run when the page is painted
  // in a different one, whoever changed it. The style sheet makes a change of colour a transition.
  const report = () => {
    if (getComputedStyle(group).colorScheme !== data.theme) setTriggerValue("changed", true);
  };
  // What was chosen before this script was there counts too.
  const early = !group.ontransitionstart && group.querySelector("input:checked");
  if (early) localStorage.setItem(REMEMBERED, early.value);
  group.ontransitionstart = report;
  report();

  const remembered = localStorage.getItem(REMEMBERED);
  const chosen = CHOICES.includes(remembered) ? remembered : "System";
  for (const input of group.querySelectorAll("input")) {
    input.checked = input.value === chosen;
    input.onchange = () => {
      localStorage.setItem(REMEMBERED, input.value);
      apply(input.value);
    };
  }
  apply(chosen);
}
