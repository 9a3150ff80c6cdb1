(invocation_expression function: (identifier) @name) @call
(invocation_expression function: (generic_name . (identifier) @name)) @call
(invocation_expression function: (member_access_expression name: (identifier) @name)) @call
(invocation_expression function: (member_access_expression name: (generic_name . (identifier) @name))) @call
(invocation_expression
  function: (conditional_access_expression (member_binding_expression name: (identifier) @name))) @call
(invocation_expression function: (conditional_access_expression
  (member_binding_expression name: (generic_name . (identifier) @name)))) @call
(object_creation_expression type: (identifier) @name) @call
(object_creation_expression type: (generic_name . (identifier) @name)) @call
(object_creation_expression type: (qualified_name name: (identifier) @name)) @call
