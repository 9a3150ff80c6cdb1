(command name: (command_name (word) @name)
  (#not-any-of? @name "source" "." "return" "break" "continue" "shift" "exit")) @call
