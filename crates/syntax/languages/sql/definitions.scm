(create_table (object_reference schema: (_)? @within name: (_) @name) (column_definitions)? @body) @table
(create_view (object_reference schema: (_)? @within name: (_) @name) (create_query)? @body) @table
(create_materialized_view (object_reference schema: (_)? @within name: (_) @name) (create_query)? @body) @table
(create_function
  . (keyword_create) (object_reference schema: (_)? @within name: (_) @name)
  . (function_arguments) @parameters
  . (keyword_returns) . [(keyword_setof) (keyword_table)] @returns
  . (_) @returns
  (function_body)? @body) @function @callable
(create_function
  . (keyword_create) (object_reference schema: (_)? @within name: (_) @name)
  . (function_arguments) @parameters
  . (keyword_returns) . (_) @returns
  (function_body)? @body) @function @callable
; The watched table is not part of a trigger's name.
(create_trigger (keyword_trigger) . (object_reference name: (_) @name)) @function
(create_type (object_reference schema: (_)? @within name: (_) @name) (enum_elements)) @enum
(create_type (object_reference schema: (_)? @within name: (_) @name)) @type
(create_index column: (_) @name) @key
(create_schema (identifier) @name) @module
(create_table (column_definitions (column_definition name: (_) @name) @property))
