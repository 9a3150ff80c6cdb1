(function_call_expression function: (name) @name) @call
(function_call_expression function: (qualified_name (name) @name .)) @call
(member_call_expression name: (name) @name) @call
(nullsafe_member_call_expression name: (name) @name) @call
(scoped_call_expression name: (name) @name) @call
(object_creation_expression (name) @name) @call
(object_creation_expression (qualified_name (name) @name .)) @call
