/* The slider from a share to the memory that keeps it: the sentences are there, one a percent. */
(() => {
  "use strict";
  document.addEventListener("input", ({ target: slider }) => {
    if (slider.id !== "keep") return;
    const answers = JSON.parse(document.getElementById("advice").dataset.answers);
    const [sentence, size] = answers[slider.valueAsNumber - 1];
    document.getElementById("keep-share").textContent = `${slider.value}%`;
    slider.setAttribute("aria-valuetext", `${slider.value}%`);
    document.getElementById("advised").textContent = sentence;
    document.getElementById("ask").hidden = size === null;
    document.getElementById("ask-size").textContent = `-- cache size: ${size ?? ""}`;
  });
})();
