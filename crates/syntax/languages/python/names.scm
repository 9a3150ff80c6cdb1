(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @as))
(import_from_statement module_name: (dotted_name) @module name: (dotted_name) @name)
(import_from_statement module_name: (dotted_name) @module
  name: (aliased_import name: (dotted_name) @name alias: (identifier) @as))
