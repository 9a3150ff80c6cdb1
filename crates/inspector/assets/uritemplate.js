// URI templates of resources (RFC 6570 without prefixes): their variables and expansion.

const PART = /\{([+#./;?&]?)([^{}]+)\}/g
// For each operator: prefix, separator, whether names are written, whether reserved characters are kept.
const WAYS = {
  '': ['', ',', false, false], '+': ['', ',', false, true], '#': ['#', ',', false, true], '.': ['.', '.', false, false],
  '/': ['/', '/', false, false], ';': [';', ';', true, false], '?': ['?', '&', true, false], '&': ['&', '&', true, false],
}

const variables = (text) => text.split(',').map((name) => name.replace(/(\*|:\d+)$/, '').trim()).filter(Boolean)

export function variablesOf(template) {
  return [...new Set([...template.matchAll(PART)].flatMap(([, , names]) => variables(names)))]
}

// Variables without a value are omitted.
export function expand(template, values) {
  return template.replace(PART, (_, operator, names) => {
    const [begin, between, named, reserved] = WAYS[operator]
    const encode = reserved ? encodeURI : encodeURIComponent
    const given = variables(names).filter((name) => values[name])
      .map((name) => (named ? `${name}=${encode(values[name])}` : encode(values[name])))
    return given.length ? begin + given.join(between) : ''
  })
}
