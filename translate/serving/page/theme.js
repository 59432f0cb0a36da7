// Applies the remembered theme before the first paint; a module would run after it.
try {
  const theme = localStorage.getItem("translate.theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage is turned off: the theme is the system's.
}
