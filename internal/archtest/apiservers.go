package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// apiServer notes the place of the first API server that a package starts for itself.
func (p *Package) apiServer(path string, file *ast.File, files *token.FileSet) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "StartCluster" && p.APIServer == "" {
			p.APIServer = fmt.Sprintf("%s:%d", path, files.Position(s.Sel.Pos()).Line)
		}
		return p.APIServer == ""
	})
}

// CheckAPIServers returns a sentence for each package that starts API servers and is not
// on the list of apiservers.txt, and for each line there that is of no use.
func CheckAPIServers(text string, packages map[string]*Package) []string {
	var bad []string
	listed := map[string]bool{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		p := packages[fields[0]]
		switch {
		case len(fields) == 1:
			bad = append(bad, fields[0]+": needs a reason in apiservers.txt")
		case listed[fields[0]]:
			bad = append(bad, fields[0]+": is in apiservers.txt twice")
		case p == nil || p.APIServer == "":
			bad = append(bad, fields[0]+": starts no API server any more; take its line out of apiservers.txt")
		}
		listed[fields[0]] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if at := packages[folder].APIServer; at != "" && !listed[folder] {
			bad = append(bad, fmt.Sprintf("%s: starts an API server of its own; take kube.New or kube.Lease, or give apiservers.txt the reason", at))
		}
	}
	return bad
}
