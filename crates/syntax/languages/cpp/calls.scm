(call_expression function: (identifier) @name) @call
(call_expression function: (field_expression field: (field_identifier) @name)) @call
(call_expression function: (field_expression field: (template_method name: (_) @name))) @call
(call_expression function: (field_expression field: (dependent_name (template_method name: (_) @name)))) @call
(call_expression function: (template_function name: (_) @name)) @call
(call_expression function: (qualified_identifier name: (identifier) @name)) @call
(call_expression function: (qualified_identifier name: (template_function name: (_) @name))) @call
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @name))) @call
(call_expression function: (qualified_identifier
  name: (qualified_identifier name: (template_function name: (_) @name)))) @call
(call_expression function: (qualified_identifier
  name: (qualified_identifier name: (qualified_identifier name: (identifier) @name)))) @call
(new_expression type: (type_identifier) @name) @call
(new_expression type: (template_type name: (_) @name)) @call
(new_expression type: (qualified_identifier name: (type_identifier) @name)) @call
(new_expression type: (qualified_identifier name: (template_type name: (_) @name))) @call
