; Brackets after a name are a lookup, not a call.
(call_expression . (simple_identifier) @name (call_suffix [(value_arguments . "(") (lambda_literal)])) @call
(call_expression
  . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @name))
  (call_suffix [(value_arguments . "(") (lambda_literal)])) @call
(call_expression . (prefix_expression target: (simple_identifier) @name)
  (call_suffix [(value_arguments . "(") (lambda_literal)])) @call
(constructor_expression constructed_type: (user_type (type_identifier) @name .)) @call
(macro_invocation . (simple_identifier) @name) @call
