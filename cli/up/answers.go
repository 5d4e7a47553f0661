package up

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
)

// answersFile has the answers, in the repository.
const answersFile = ".axle/up.yaml"

// answersHead begins it.
const answersHead = `# The answers to axle up, without secrets, and the version that made these files.
# axle up local and axle up upgrade read them.
`

// target is where the control plane runs.
const target = "local"

// answers are what a repository is generated from.
type answers struct {
	Target string `json:"target"`
	// Workload is which clusters are made beside the management cluster.
	Workload string `json:"workload"`
	// URL is the hub's address, Email the first administrator's.
	URL   string `json:"url"`
	Email string `json:"email"`
	// Name is the repository's name at the hub, Repository its URL, Branch what is followed.
	Name       string `json:"name"`
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	// Git is "cluster" if the repository is on a Git server in the cluster, else empty.
	Git string `json:"git,omitempty"`
	// Login is true if the repository asks for one.
	Login bool `json:"login"`
	// OwnValues is true if values/axle.yaml is the user's and not the skeleton's.
	OwnValues bool `json:"ownValues"`
	// address is where the hub reaches the Git server of the cluster, if it is another.
	address string
	// Version is that of the axle whose skeleton this is.
	Version string `json:"version"`
}

// question is an answer that a flag gives, or a person.
type question struct {
	flag, text string
	into       *string
}

// questions are those of which all must be answered.
func (a *answers) questions() []question {
	return []question{
		{"url", "Address at which people and agents reach the hub, such as https://axle.example.com", &a.URL},
		{"email", "E-mail of the first administrator", &a.Email},
		{"repo", "URL of an empty Git repository (nothing: one pod of the cluster serves it)", &a.Repository},
	}
}

// all are the questions, with those that have a default.
func (a *answers) all() []question {
	return append(a.questions(), question{"name", "", &a.Name}, question{"branch", "", &a.Branch}, question{"workload", "", &a.Workload})
}

// readAnswers are those of a folder, nil if it has none.
func readAnswers(dir string) (*answers, error) {
	text, err := os.ReadFile(filepath.Join(dir, answersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read the answers: %w", err)
	}
	return parseAnswers(text)
}

func parseAnswers(text []byte) (*answers, error) {
	a := &answers{}
	if err := yaml.UnmarshalStrict(text, a); err != nil {
		return nil, errcode.New(errcode.Invalid, "%s is not what axle up wrote (%w): restore it from Git", answersFile, err)
	}
	if _, known := a.workload(); a.Target != target || !known {
		return nil, errcode.New(errcode.Invalid, "%s has the target %q with the workload %q, which this version of axle does not have: use the version that made it", answersFile, a.Target, a.Workload)
	}
	return a, nil
}

func (a *answers) text() ([]byte, error) {
	text, err := yaml.Marshal(a)
	return slices.Concat([]byte(answersHead), text), err
}

// contradicts names what was answered in another way before.
func (a *answers) contradicts(given *answers, dir string) error {
	have, now := a.all(), given.all()
	var differ []string
	for i, q := range have {
		if *now[i].into != "" && *now[i].into != *q.into {
			differ = append(differ, fmt.Sprintf("--%s is %s there, not %s", q.flag, *q.into, *now[i].into))
		}
	}
	if len(differ) > 0 {
		return errcode.New(errcode.Conflict, "%s was made with other answers (%s): %s; leave the flags out to go on with those, or begin in another folder", dir, answersFile, strings.Join(differ, "; "))
	}
	return nil
}

// plainName is what the hub and Kubernetes take as a name.
var plainName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$`)

// plainBranch keeps a branch from being anything else in a file or a command.
var plainBranch = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_./]{0,100}$`)

// remoteSchemes are those that the hub reads too.
var remoteSchemes = []string{"https", "http", "ssh"}

// check refuses what would only fail later, or would put a secret into a file.
func (a *answers) check() error {
	for _, q := range a.questions() {
		if *q.into == "" {
			return exitcode.Usagef("--%s is missing: %s", q.flag, q.text)
		}
		if strings.ContainsFunc(*q.into, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`\\[]{}#", r) }) {
			return exitcode.Usagef("--%s %q has characters that do not belong there: %s", q.flag, *q.into, q.text)
		}
	}
	if u, err := url.Parse(a.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return exitcode.Usagef("--url %q is no address of a hub: write https://NAME", a.URL)
	}
	if _, known := a.workload(); !known {
		return exitcode.Usagef("--workload %q is not one of %s", a.Workload, strings.Join(workloadNames(), ", "))
	}
	u, err := url.Parse(a.Repository)
	if err != nil || !slices.Contains(remoteSchemes, u.Scheme) || u.Host == "" {
		return exitcode.Usagef("--repo is no URL of a Git repository: write https://HOST/PATH.git or ssh://git@HOST/PATH.git")
	}
	if a.Git != "" && (a.Git != inCluster || u.Scheme != "https" || u.Port() == "" || u.Path != "/"+a.Name+".git") {
		return exitcode.Usagef("the repository %s is not on a Git server of the cluster: give --git-address as HOST:PORT, and restore %s from Git if you changed it", a.Repository, answersFile)
	}
	if _, secret := u.User.Password(); secret || u.User != nil && u.Scheme != "ssh" {
		return exitcode.Usagef("--repo holds a login, which would be in Git then: give it with --username and --password-file")
	}
	switch {
	case !plainName.MatchString(a.Name):
		return exitcode.Usagef("--name %q is no name: use lower-case letters, digits and hyphens", a.Name)
	case !plainBranch.MatchString(a.Branch):
		return exitcode.Usagef("--branch %q is no branch: use letters, digits, hyphens, dots and slashes", a.Branch)
	case !strings.Contains(a.Email, "@"):
		return exitcode.Usagef("--email %q is no e-mail address", a.Email)
	}
	return nil
}

// complete fills in what has a default.
func (a *answers) complete() {
	a.Target, a.Version = target, buildinfo.Version
	if a.Workload == "" {
		a.Workload = workloadAnswers[0].name
	}
	if a.Name == "" {
		a.Name = "fleet"
	}
	if a.Branch == "" {
		a.Branch = "main"
	}
	if a.Repository == "" {
		a.Git, a.Login = inCluster, true
		a.Repository = a.at(a.address)
	}
}

// write puts a file into a folder, unless it is there. It reports whether it did.
func write(dir, name string, text []byte) (bool, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, errcode.New(errcode.Invalid, "make the folder of %s: %w", name, err)
	}
	err := atomicfile.Create(path, text, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, errcode.New(errcode.Invalid, "write %s: %w", name, err)
	}
	return true, nil
}
