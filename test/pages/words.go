package pages

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
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

// forUsers are the pages that users read first, and when something fails.
var forUsers = regexp.MustCompile(`^(README|docs/(README|cli|concepts|configuration|login|operations|(howto|install|start|runbooks)/.*))\.md$`)

// CheckWords returns what Spoken finds in the pages forUsers.
func CheckWords(root string) ([]string, error) {
	all, err := documents(root)
	if err != nil {
		return nil, err
	}
	var bad []string
	for _, page := range slices.Sorted(maps.Keys(all)) {
		if !forUsers.MatchString(page) {
			continue
		}
		for _, found := range Spoken(string(all[page].text)) {
			bad = append(bad, page+": "+found)
		}
	}
	return bad, nil
}
