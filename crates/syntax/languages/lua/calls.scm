(function_call name: (identifier) @name) @call
(function_call name: (dot_index_expression field: (identifier) @name)) @call
(function_call name: (method_index_expression method: (identifier) @name)) @call
