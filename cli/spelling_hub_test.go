package cli_test

import (
	"strings"
	"testing"
)

// spellings are values that the hub understands in more than one spelling.
const spellings = `apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: slash}
spec: {url: "https://git.example.com/Team/app/"}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: port}
spec: {url: "HTTPS://GIT.example.com:443/Team/app.git"}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: GitRepository
metadata: {name: azure}
spec: {url: "https://contoso@dev.azure.com/contoso/shop/_git/app"}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: HelmRepository
metadata: {name: charts}
spec: {url: "https://Charts.example.com/stable/"}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: HelmRepository
metadata: {name: images}
spec:
  url: |
    OCI://GHCR.io/acme/charts/
---
apiVersion: axle-cd.github.io/v1alpha1
kind: Repository
metadata: {name: own}
spec: {type: bucket, url: "S3://acme/"}
`

// TestValuesStayAsTheyWereWritten applies files twice: the second time changes nothing.
func TestValuesStayAsTheyWereWritten(t *testing.T) {
	s := newShell(t)
	file := s.write("all.yaml", spellings)
	s.exits(0, "apply -f "+file)
	if out := s.exits(0, "apply -f "+file); strings.Count(out, "unchanged") != 6 {
		t.Errorf("a second apply:\n%s", out)
	}
	s.exits(0, "repos get port", "HTTPS://GIT.example.com:443/Team/app.git")
	s.exits(0, "repos get images", "OCI://GHCR.io/acme/charts/")

	// Another spelling is written down; another URL needs another name.
	file = s.write("all.yaml", strings.ReplaceAll(spellings, "HTTPS://GIT.example.com:443/Team/app.git", "https://git.example.com/Team/app"))
	s.exits(1, "diff -f "+file, "1 update, 5 unchanged")
	s.exits(0, "apply -f "+file, "updated")
	s.exits(0, "repos get port", "https://git.example.com/Team/app")
	if out := s.exits(0, "apply -f "+file); strings.Count(out, "unchanged") != 6 {
		t.Errorf("an apply after another spelling:\n%s", out)
	}
	file = s.write("all.yaml", strings.ReplaceAll(spellings, "GIT.example.com:443/Team/app.git", "git.example.com/team/app"))
	s.exits(1, "apply -f "+file, "cannot be changed")
}

// TestOtherValuesStayAsTheyWereWritten applies values beside URLs twice, and compares them.
func TestOtherValuesStayAsTheyWereWritten(t *testing.T) {
	s := newShell(t)
	s.exits(0, "groups create sre")
	s.exits(0, "serviceaccounts create ci")
	const file = "../test/operator/testdata/spellings.yaml"
	s.exits(0, "apply -f "+file)
	if out := s.exits(0, "apply -f "+file); strings.Count(out, "unchanged") != 10 {
		t.Errorf("a second apply:\n%s", out)
	}
	s.exits(0, "diff -f "+file, "10 unchanged")
}
