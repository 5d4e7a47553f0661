package confirm

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Name is asked for before a command destroys so much that a "y" would be too short.
type Name struct {
	// Terminal is true if a person reads Err and answers on In.
	Terminal bool
	// Given is the name that a script gave, empty for none.
	Given string
	In    io.Reader
	Err   io.Writer
	// Text says what happens, and Name is what has to be typed.
	Text, Name string
	// Command is the command line that does it without a question.
	Command string
}

// Ask returns nil if the name was given or typed. A wrong one, the end of the input, and
// nobody to ask are errors of the code Invalid that name Command.
func (n Name) Ask() error {
	answer := n.Given
	if answer == "" && n.Terminal {
		fmt.Fprintf(n.Err, "%s\nType %s to go on: ", n.Text, n.Name)
		line, err := bufio.NewReader(io.LimitReader(n.In, 1024)).ReadString('\n')
		if err != nil {
			fmt.Fprintln(n.Err)
		}
		answer = strings.TrimSpace(line)
	}
	switch answer {
	case n.Name:
		return nil
	case "":
		return errcode.New(errcode.Invalid, "nothing was done; to do it without a question: %s", n.Command)
	}
	return errcode.New(errcode.Invalid, "nothing was done, because %q is not %q; to do it without a question: %s", answer, n.Name, n.Command)
}
