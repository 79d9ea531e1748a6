/* Light or dark as Airflow's own switch has it, where the page stands in Airflow's frame; else as the system has it. */
(() => {
  "use strict";
  const outer = () => {
    try {
      return window.parent === window ? null : window.parent.document.documentElement;
    } catch {
      return null; // The frame is of another origin.
    }
  };
  const root = outer();
  if (!root) return;
  const follow = () => {
    const chosen = ["dark", "light"].find((name) => root.classList.contains(name));
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  };
  follow();
  new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["class"] });
})();
