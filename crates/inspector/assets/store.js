// Keeps what outlives a reload, under a prefix per target. Storage that is full, broken or forbidden is no failure.

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
        // What can't be kept is lost with the page.
      }
    },
  }
}

// What holds for every target: the theme, the target itself.
export const shared = makeStore('docent:')
