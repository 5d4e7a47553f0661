package shape

import (
	"io/fs"
	"regexp"
	"strings"
	"sync"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

var (
	messageLine = regexp.MustCompile(`^message (\w+) \{`)
	fieldLine   = regexp.MustCompile(`^\s+(?:repeated |optional )?(?:map<[^>]+>|[\w.]+) (\w+) = \d+`)
)

// comments are the comments of messages and fields, by Message and Message.field. The
// generated code has none.
var comments = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	names, _ := fs.Glob(hubv1.Files, "*.proto")
	for _, name := range names {
		text, _ := hubv1.Files.ReadFile(name)
		message, said := "", []string(nil)
		for line := range strings.Lines(string(text)) {
			trimmed := strings.TrimSpace(line)
			if comment, ok := strings.CutPrefix(trimmed, "//"); ok {
				said = append(said, strings.TrimSpace(comment))
				continue
			}
			about := strings.Join(said, " ")
			said = nil
			if m := messageLine.FindStringSubmatch(line); m != nil {
				message = m[1]
				found[message] = about
			} else if m := fieldLine.FindStringSubmatch(line); m != nil && about != "" {
				found[message+"."+m[1]] = about
			}
		}
	}
	return found
})
