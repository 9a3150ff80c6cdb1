// Persists state across reloads, under a prefix per target. Full, broken or forbidden storage is not an error.

export function makeStore(prefix) {
  return {
    get(key, otherwise = null) {
      try {
        return JSON.parse(localStorage.getItem(prefix + key)) ?? otherwise
      } catch {
        return otherwise
      }
    },
    set(key, value) {
      try {
        if (value === undefined || value === null) localStorage.removeItem(prefix + key)
        else localStorage.setItem(prefix + key, JSON.stringify(value))
      } catch {
        // State that cannot be stored is lost with the page.
      }
    },
  }
}

// State shared by all targets: the theme, the target itself.
export const shared = makeStore('docent:')
