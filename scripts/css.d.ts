// A style sheet is imported as its text: scripts/bundle.js sees to that.
declare module "*.css" {
  const text: string;
  export default text;
}
