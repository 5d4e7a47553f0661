// Package confirm asks a person before a command destroys something.
//
// It asks only on a terminal: a script has nobody to ask, and goes on as it
// always did. It makes no calls and knows no command but by the words that it
// is given. cli wraps the commands of its list with it.
package confirm

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Question is one question, before one command.
type Question struct {
	// Terminal is true if a person reads Err and answers on In.
	Terminal bool
	// Yes is true if the person has answered already, by --yes.
	Yes bool
	In  io.Reader
	Err io.Writer
	// Text is the question, without its mark: "Delete service edge-1/web".
	Text string
	// Word is typed as the answer instead of yes, for what cannot be made again.
	Word string
	// Command is the command line that does it without a question.
	Command string
}

// Ask returns nil if the command may go on: after "y" or "yes" (after Word, if there is
// one), with Yes, or without a terminal. Any other answer, and the end of the input, is an error
// of the code Invalid that names Command.
func (q Question) Ask() error {
	if q.Yes || !q.Terminal {
		return nil
	}
	answers, hint := []string{"y", "yes"}, "[y/N]"
	if q.Word != "" {
		answers, hint = []string{q.Word}, fmt.Sprintf("Type %s to confirm:", q.Word)
	}
	fmt.Fprintf(q.Err, "%s? %s ", q.Text, hint)
	line, err := bufio.NewReader(io.LimitReader(q.In, 1024)).ReadString('\n')
	if err != nil {
		// The terminal's cursor is still behind the question.
		fmt.Fprintln(q.Err)
	}
	if line = strings.TrimSpace(line); q.Word == "" {
		line = strings.ToLower(line)
	}
	if slices.Contains(answers, line) {
		return nil
	}
	return errcode.New(errcode.Invalid, "nothing was done; to do it without a question: %s", q.Command)
}

// Line is a command line that a shell reads as these words.
func Line(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func quote(word string) string {
	bare := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@=,+%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !bare(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
