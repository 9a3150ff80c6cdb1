(import_declaration (identifier) @module) @import
; `import struct Module.Type`
(import_declaration ["typealias" "struct" "class" "enum" "protocol" "let" "var" "func"]
  (identifier (simple_identifier) @name .)) @import
