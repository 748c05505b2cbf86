// Tables that scroll are reached with the keyboard, and the buttons of each code block have a name of their own.
window.addEventListener("load", () => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    wrap.tabIndex = 0;
    wrap.setAttribute("role", "group");
    wrap.setAttribute("aria-label", "table");
  }
  document.querySelectorAll(".md-code__nav").forEach((buttons, k) => {
    buttons.setAttribute("aria-label", `Code block ${k + 1}`);
  });
});
