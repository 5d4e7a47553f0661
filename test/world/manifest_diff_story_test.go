package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// diffsOfManifests compares manifests with the hub and the cluster: a service and a
// global service that would follow another branch, one with other settings, a new one.
// It leaves everything as it was.
func (s *stage) diffsOfManifests(branch string) {
	s.t.Helper()
	s.axle("globalservices", "create", "every", "--repo", "fleet", "--ref", "main", "--folder", "a", "--cascade", "delete")
	s.eventual("the global service has made its service", func() error { return s.contains("services get edge-1/every", "Synced") })
	const group = "---\napiVersion: deployments.plural.sh/v1alpha1\n"
	const follows = "repositoryRef: {name: fleet}, git: {ref: "
	file := filepath.Join(s.Dir, "manifests.yaml")
	s.must(os.WriteFile(file, []byte(group+"kind: ServiceDeployment\nmetadata: {name: a}\nspec: {cluster: edge-1, "+follows+branch+", folder: a}}\n"+
		group+"kind: ServiceDeployment\nmetadata: {name: b}\nspec: {cluster: edge-1, "+follows+"main, folder: b}, configuration: {color: red}}\n"+
		group+"kind: ServiceDeployment\nmetadata: {name: c}\nspec: {cluster: edge-1, "+follows+"main, folder: b}}\n"+
		group+"kind: GlobalService\nmetadata: {name: every}\nspec: {cascade: {delete: true}, template: {"+follows+branch+", folder: a}}}\n"), 0o600))
	out := s.differs(1, "diff", "-f", file, "--live")
	for _, want := range []string{
		`git.ref: "main" -> "` + branch + `"`, `template.git.ref: "main" -> "` + branch + `"`, `configuration.color: (unset) -> "red"`,
		"# === edge-1/a, in the cluster", "# === edge-1/every, in the cluster", "-  word: second", "+  word: third",
		"ServiceDeployment edge-1/b in its clusters: a preview renders another ref, and not other settings (configuration.color)", "ServiceDeployment edge-1/c in its clusters: it is new",
		"# 1 create, 3 update, 0 unchanged",
	} {
		if !strings.Contains(out, want) {
			s.t.Errorf("axle diff -f --live does not say %q:\n%s", want, out)
		}
	}
	if out := s.differs(1, "diff", "-f", file, "--live", "--live-limit", "1"); !strings.Contains(out, "--live-limit is 1") || strings.Contains(out, "=== edge-1/a, in") == strings.Contains(out, "=== edge-1/every, in") {
		s.t.Errorf("one preview of two:\n%s", out)
	}
	if out := s.axle("services", "list", "-q", "--cluster", "edge-1"); strings.Contains(out, "edge-1/c") {
		s.t.Errorf("a diff made a service: %s", out)
	}
	s.axle("globalservices", "delete", "every")
	s.eventual("the global service is gone", func() error {
		if out := s.axle("globalservices", "list", "-q"); out != "" {
			return fmt.Errorf("it is there: %s", out)
		}
		return nil
	})
}
