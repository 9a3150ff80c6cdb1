(use_declaration argument: (_) @module) @import
(extern_crate_declaration name: (identifier) @module) @import
(mod_item name: (identifier) @module !body) @declared

((attribute_item (attribute (identifier) @_attribute value: (string_literal (string_content) @path)))
  .
  (mod_item name: (identifier) @module !body) @declared
  (#eq? @_attribute "path"))

; Inside such a module, `self` and `super` have other meanings.
(mod_item name: (identifier) @within body: (_)) @scope
