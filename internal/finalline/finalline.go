// Package finalline has the one rule for values that are read from somewhere: one last line
// end is not part of the value, and everything else is. Editors and echo end each text
// with it, and a password with it does not log in. The command line goes by it for files,
// standard input and env:NAME, and the operator for Secrets.
package finalline

import "strings"

// Cut returns a text without one last line end, \n or \r\n.
func Cut(text string) string {
	if whole, ended := strings.CutSuffix(text, "\n"); ended {
		return strings.TrimSuffix(whole, "\r")
	}
	return text
}
