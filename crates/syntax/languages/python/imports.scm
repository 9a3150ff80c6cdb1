(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module)) @import
(import_from_statement module_name: (_) @module) @import

(import_from_statement name: (dotted_name) @name) @import
(import_from_statement name: (aliased_import name: (dotted_name) @name)) @import
(import_from_statement (wildcard_import) @name) @import

; Imports in such a block are type-only.
(if_statement
  condition: [
    (identifier) @_condition
    (attribute attribute: (identifier) @_condition)
  ]
  consequence: (block) @types
  (#eq? @_condition "TYPE_CHECKING"))
