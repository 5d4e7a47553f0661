package hubv1

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed *.proto
var files embed.FS

var (
	blockLine = regexp.MustCompile(`^(?:message|service) (\w+) \{`)
	callLine  = regexp.MustCompile(`^\s+rpc (\w+)\(`)
	fieldLine = regexp.MustCompile(`^\s+(?:repeated |optional )?(?:map<[^>]+>|[\w.]+) (\w+) = \d+`)
)

// Comments are the comments of the definitions that this package is generated from, for
// what shows them to people; the generated code has none. The keys are Message,
// Message.field, Service and Service.Call.
var Comments = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	names, _ := fs.Glob(files, "*.proto")
	for _, name := range names {
		text, _ := files.ReadFile(name)
		block, said := "", []string(nil)
		for line := range strings.Lines(string(text)) {
			if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//"); ok {
				said = append(said, strings.TrimSpace(comment))
				continue
			}
			about := strings.Join(said, " ")
			said = nil
			if m := blockLine.FindStringSubmatch(line); m != nil {
				block = m[1]
				found[block] = about
				continue
			}
			for _, inside := range []*regexp.Regexp{callLine, fieldLine} {
				if m := inside.FindStringSubmatch(line); m != nil && about != "" {
					found[block+"."+m[1]] = about
				}
			}
		}
	}
	return found
})
