(import_statement source: (string (string_fragment) @module)) @import
(export_statement source: (string (string_fragment) @module)) @import
; TypeScript's `import x = require("y")`.
(import_statement (_ source: (string (string_fragment) @module))) @import

(import_statement (import_clause (named_imports (import_specifier name: (_) @name)))) @import
(export_statement (export_clause (export_specifier name: (_) @name)) source: (string)) @import

(call_expression
  function: (identifier) @_call
  arguments: (arguments . [
    (string (string_fragment) @module)
    (template_string . (string_fragment) @module .)
  ])
  (#eq? @_call "require")) @import
(call_expression
  function: (import)
  arguments: (arguments . [
    (string (string_fragment) @module)
    (template_string . (string_fragment) @module .)
  ])) @import
