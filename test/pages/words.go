package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// spoken are words that a reader outside the project stumbles over, each with better
// ones. Names of commands and fields stand in backticks, which Spoken leaves out.
var spoken = []struct {
	text   *regexp.Regexp
	better string
}{
	{regexp.MustCompile(`(?m)(?:^|[.:!?] |\| |\*\*|- )(?:What|Who|Whoever|Whatever) [a-z]+`), "name the thing with a noun"},
	{regexp.MustCompile(`(?i)\b(?:tell|tells|told|say|says|said)\b`), "log, report, notify, show or return"},
	{regexp.MustCompile(`(?i)\balone\b`), "only"},
}

var (
	inBackticks = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	lineBreak   = regexp.MustCompile(`([^\n|])\n([a-zA-Z*(\[])`)
)

// Spoken returns what a text for users should put otherwise, each with better words. A
// sentence may begin in the middle of a line, so lines of one paragraph are joined.
func Spoken(text string) []string {
	text = lineBreak.ReplaceAllString(inBackticks.ReplaceAllString(text, "`…`"), "$1 $2")
	var found []string
	for _, s := range spoken {
		for _, match := range s.text.FindAllString(text, -1) {
			found = append(found, fmt.Sprintf("%q: %s", match, s.better))
		}
	}
	return found
}

// CheckWords returns what Spoken finds in the pages that users read first: README.md,
// docs/howto and docs/install.
func CheckWords(root string) ([]string, error) {
	var bad []string
	for _, place := range []string{"README.md", "docs/howto", "docs/install"} {
		err := filepath.WalkDir(filepath.Join(root, place), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
				return err
			}
			text, err := os.ReadFile(path) //nolint:gosec // a document of this checkout
			if err != nil {
				return err
			}
			for _, found := range Spoken(string(text)) {
				bad = append(bad, path+": "+found)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return bad, nil
}
