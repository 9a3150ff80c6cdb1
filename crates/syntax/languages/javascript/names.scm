(import_statement (import_clause (identifier) @as) source: (string (string_fragment) @module))
(import_statement (import_clause (namespace_import (identifier) @as)) source: (string (string_fragment) @module))
(import_statement
  (import_clause (named_imports (import_specifier name: (identifier) @name !alias)))
  source: (string (string_fragment) @module))
(import_statement
  (import_clause (named_imports (import_specifier name: (identifier) @name alias: (identifier) @as)))
  source: (string (string_fragment) @module))
((variable_declarator name: (identifier) @as
  value: (call_expression function: (identifier) @_require arguments: (arguments (string (string_fragment) @module))))
  (#eq? @_require "require"))
((variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name)
  value: (call_expression function: (identifier) @_require arguments: (arguments (string (string_fragment) @module))))
  (#eq? @_require "require"))
((variable_declarator
  name: (object_pattern (pair_pattern key: (property_identifier) @name value: (identifier) @as))
  value: (call_expression function: (identifier) @_require arguments: (arguments (string (string_fragment) @module))))
  (#eq? @_require "require"))
