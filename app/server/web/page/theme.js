// The theme, before the page is painted: the system's, or what the reader has chosen.
"use strict";
{
  const choice = localStorage.getItem("mpga-theme");
  if (choice) document.documentElement.dataset.theme = choice;
}
