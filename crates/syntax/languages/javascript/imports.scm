(import_statement source: (string (string_fragment) @module)) @import
(export_statement source: (string (string_fragment) @module)) @import
(call_expression
  function: (identifier) @_call
  arguments: (arguments . (string (string_fragment) @module))
  (#eq? @_call "require")) @import
(call_expression
  function: (import)
  arguments: (arguments . (string (string_fragment) @module))) @import
