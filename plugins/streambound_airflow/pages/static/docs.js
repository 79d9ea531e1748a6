/* The filter of Data Docs, "Show All" and "Failed Only", which their own inline script does elsewhere. */
(() => {
  "use strict";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const succeeded = () => {
    const sections = all(".hide-succeeded-validations-column-section-target-child").map((one) => one.parentElement.parentElement);
    const links = sections.flatMap((one) => (one.id ? all(`a[href$="${CSS.escape(one.id)}"]`) : []));
    const rows = all(".hide-succeeded-validation-target-child").map((one) => one.parentElement);
    return [...sections, ...links, ...rows, ...all(".hide-succeeded-validation-target")];
  };
  document.addEventListener("change", (event) => {
    if (event.target.id !== "option1" && event.target.id !== "option2") return;
    for (const one of succeeded()) one.classList.toggle("d-none", event.target.id === "option2");
  });
})();
