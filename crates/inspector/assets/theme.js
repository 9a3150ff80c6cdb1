// Sets the theme before the first paint: a classic script in the head, since modules run after it.
try {
  const theme = JSON.parse(localStorage.getItem('docent:theme'))
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
} catch {
  // Without storage the system theme applies.
}
