// Command hello ends at once, in the place of a program that should not.
package main

import "fmt"

func main() { fmt.Println("hello") }
