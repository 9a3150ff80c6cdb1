(namespace_use_declaration (namespace_use_clause . [(name) (qualified_name)] @module)) @import
; `use A\{B, C}`
(namespace_use_declaration (namespace_name) @module body: (_)) @import
(namespace_use_declaration
  body: (namespace_use_group (namespace_use_clause . [(name) (qualified_name) (namespace_name)] @name))) @import
; With `__DIR__ . '/file.php'` as well.
(require_expression [
  (string (string_content) @module)
  (binary_expression right: (string (string_content) @module))
]) @import
(require_once_expression [
  (string (string_content) @module)
  (binary_expression right: (string (string_content) @module))
]) @import
(include_expression [
  (string (string_content) @module)
  (binary_expression right: (string (string_content) @module))
]) @import
(include_once_expression [
  (string (string_content) @module)
  (binary_expression right: (string (string_content) @module))
]) @import
