; What each capture means: languages/README.md, branches.scm.
(if_statement) @branch @nest @structure
(if_statement condition: (_) @head)
(if_statement "else" @flat)
(for_statement) @branch @nest @structure
(for_statement initializer: (_) @head)
(for_statement condition: (_) @head)
(for_statement update: (_) @head)
(foreach_statement) @branch @nest @structure
(foreach_statement right: (_) @head)
(while_statement) @branch @nest @structure
(while_statement condition: (_) @head)
(do_statement) @branch @nest @structure
(do_statement condition: (_) @head)
(switch_statement) @nest @structure
(switch_statement value: (_) @head)
(switch_section "case") @branch
(switch_expression) @nest @structure
(switch_expression . (_) @head)
; A catch-all arm adds no path of its own.
(switch_expression_arm . [(constant_pattern) (declaration_pattern) (recursive_pattern) (relational_pattern)
  (type_pattern) (and_pattern) (or_pattern) (negated_pattern) (list_pattern) (parenthesized_pattern)
  (var_pattern)]) @branch
(catch_clause) @branch @nest @structure
(conditional_expression) @branch @structure
(conditional_expression condition: (_) @head)
(binary_expression operator: ["&&" "||" "??"]) @branch
(binary_expression operator: ["&&" "||"]) @logic
(goto_statement) @flat
(lambda_expression) @deep
(anonymous_method_expression) @deep
(local_function_statement) @deep
