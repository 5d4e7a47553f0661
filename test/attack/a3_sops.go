package attack

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/bin"
)

// The backend of the bed's hub, whose repository nobody registered.
const sopsBackend, sopsRepositoryName = "sealed", "sealed-values"

// sopsFile is a file of the checkout that the hub's key opens.
func sopsFile(name string) (string, error) {
	root, err := bin.Root()
	return filepath.Join(root, "hub", "config", "backend", "testdata", name), err
}

// declareBackend writes the file of backends for a hub.
func declareBackend() (string, error) {
	key, err := sopsFile("age.key")
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "backends-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(file, "backends:\n- {name: %s, type: sops, sops: {repository: %s, ref: main, folder: secrets, ageKeyFile: %q}}\n", sopsBackend, sopsRepositoryName, key)
	return file.Name(), errors.Join(err, file.Close())
}

var sopsRepository = Attack{
	Class: "A3", Name: "repository-of-a-sops-backend", Needs: Bed,
	Story: "The operator of the hub declared a SOPS backend whose repository nobody registered yet. Somebody with the right git on a project registers the name, with a copy of files that only the hub's key opens, and reads the values in a service of theirs.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		p.newCluster("mine", "lab", "")
		file, err := sopsFile("prod.enc.yaml")
		if err != nil {
			p.fail("%w", err)
		}
		sealed, err := os.ReadFile(file)
		if err != nil {
			p.fail("%w", err)
		}
		git := p.Bed.world.Git
		if err := git.Create(p.ctx, p.my("git")); err != nil {
			p.fail("%w", err)
		}
		if _, err := git.Commit(p.ctx, p.my("git"), "main", "values", map[string]string{"secrets/prod.enc.yaml": string(sealed), "web/a.yaml": "{}"}); err != nil {
			p.fail("%w", err)
		}
		for _, name := range []string{sopsRepositoryName, p.my("git")} {
			mallory.must("Repositories/Create", `{"name": %q, "project": "<<lab>>", "url": %q}`, name, git.URL(p.my("git")))
		}
		took := p.either("the hub reads the backend for a service", func() string {
			a := mallory.call("Services/Create", `{"ref": {"cluster": "<<mine>>", "name": "<<web>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main", "folder": "web"}, "secretRefs": {"token": {"backend": %q, "path": "prod.enc.yaml", "key": "token"}}}}`, sopsBackend)
			switch {
			case a.ok():
				return "opened"
			case a.status != http.StatusServiceUnavailable && strings.Contains(a.text, sopsRepositoryName):
				return "refused"
			}
			return a.text // a repository is not read at once
		}, "opened", "refused")
		if took == "opened" {
			return "the value that only the hub can open, in a service of the stranger's"
		}
		// The name is the configuration's, not this run's: the next one needs it too.
		p.admin().must("Repositories/Delete", `{"name": %q}`, sopsRepositoryName)
		return ""
	},
}
