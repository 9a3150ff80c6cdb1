; An operator has its parameters on both sides.
(binary_operator left: (_) @parameter @name)
(binary_operator right: (_) @parameter @name)
(arguments (_) @parameter @name)
(arguments (binary_operator left: (_) @name operator: "\\\\" right: (_) @default) @parameter)
