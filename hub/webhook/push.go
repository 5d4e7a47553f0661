package webhook

import (
	"cmp"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// push is the parsed content of a delivery.
type push struct {
	// urls are the sender's URLs of the repository; one match is enough. Empty
	// means whatever the webhook is restricted to.
	urls []string
	// refs are the changed refs, full or short; empty means any. head is the default
	// branch, which HEAD names; empty is unknown.
	refs []string
	head string
	// nothing is set for deliveries without changed refs: a ping, an issue, a
	// comment.
	nothing bool
}

// body has the relevant fields of all providers; each provider sets its own.
type body struct {
	Ref        string `json:"ref"`
	RefType    string `json:"ref_type"`
	ObjectKind string `json:"object_kind"`
	EventName  string `json:"event_name"`
	EventType  string `json:"eventType"`

	// These belong to the generic form.
	URL  string   `json:"url"`
	URLs []string `json:"urls"`
	Refs []string `json:"refs"`

	Repository repository `json:"repository"`
	Project    struct {
		HTTP string `json:"git_http_url"`
		SSH  string `json:"git_ssh_url"`
		Web  string `json:"web_url"`
		Head string `json:"default_branch"`
	} `json:"project"`
	Push struct {
		Changes []struct {
			New, Old *struct {
				Name string `json:"name"`
			}
		} `json:"changes"`
	} `json:"push"`
	Changes []struct {
		RefID string `json:"refId"`
		Ref   any    `json:"ref"`
	} `json:"changes"`
	Resource struct {
		Repository repository `json:"repository"`
		RefUpdates []struct {
			Name string `json:"name"`
		} `json:"refUpdates"`
	} `json:"resource"`
}

type repository struct {
	Clone     string `json:"clone_url"`
	SSH       string `json:"ssh_url"`
	Git       string `json:"git_url"`
	Web       string `json:"html_url"`
	RemoteURL string `json:"remoteUrl"`
	SSHURL    string `json:"sshUrl"`
	Head      string `json:"default_branch"`
	// HeadRef is Azure's, with refs/heads/.
	HeadRef string `json:"defaultBranch"`
	Links   struct {
		HTML struct {
			Href string `json:"href"`
		} `json:"html"`
		Clone []struct {
			Href string `json:"href"`
		} `json:"clone"`
	} `json:"links"`
}

func (r repository) urls() []string {
	all := []string{r.Clone, r.SSH, r.Git, r.Web, r.RemoteURL, r.SSHURL, r.Links.HTML.Href}
	for _, l := range r.Links.Clone {
		all = append(all, l.Href)
	}
	return all
}

// events are the kinds of delivery with changed refs, and the header that names
// the kind.
var events = map[gitcache.Provider]struct {
	header string
	pushes []string
}{
	gitcache.GitHub:    {"X-GitHub-Event", []string{"push", "create", "delete"}},
	gitcache.Gitea:     {"X-Gitea-Event", []string{"push", "create", "delete"}},
	gitcache.GitLab:    {"X-Gitlab-Event", []string{"Push Hook", "Tag Push Hook", "System Hook"}},
	gitcache.Bitbucket: {"X-Event-Key", []string{"repo:push", "repo:refs_changed", "mirror:repo_synchronized"}},
}

// settings are those of a repository at GitHub that changed.
type settings struct {
	Changes struct {
		DefaultBranch *struct{} `json:"default_branch"`
	} `json:"changes"`
	Repository repository `json:"repository"`
}

// push is one of the default branch when another branch became that: HEAD leads there now.
func (s *settings) push() push {
	if s.Changes.DefaultBranch == nil {
		return push{nothing: true}
	}
	return push{urls: s.Repository.urls(), refs: []string{s.Repository.Head}, head: s.Repository.Head}
}

// read parses a verified delivery.
func read(provider gitcache.Provider, header http.Header, raw []byte) (push, error) {
	e, named := events[provider]
	event := header.Get(e.header)
	edited := provider == gitcache.GitHub && event == "repository"
	if named && !edited && !slices.Contains(e.pushes, event) {
		return push{nothing: true}, nil
	}
	var b body
	var changed settings
	var into any = &b
	if edited {
		into = &changed
	}
	if media, _, _ := mime.ParseMediaType(header.Get("Content-Type")); media == "application/x-www-form-urlencoded" {
		// GitHub's default, and an option of Gitea. What is signed is the whole body.
		form, err := url.ParseQuery(string(raw))
		if err != nil || !form.Has("payload") {
			return push{}, errcode.New(errcode.Invalid, "the body is a form without the field payload; choose the content type application/json at the sender")
		}
		raw = []byte(form.Get("payload"))
	}
	if len(raw) > 0 || provider != gitcache.Generic {
		if err := bounded.JSON(raw, into, bounded.Most(maxBody)); err != nil {
			return push{}, errcode.New(errcode.Invalid, "the body is not the JSON of a push: %w; choose the content type application/json at the sender", err)
		}
	}
	p := b.push(provider)
	if edited {
		p = changed.push()
	}
	p.urls = slices.DeleteFunc(p.urls, func(u string) bool { return u == "" })
	p.refs = slices.DeleteFunc(p.refs, func(r string) bool { return r == "" })
	if len(p.urls) == 0 && !p.nothing && provider != gitcache.Generic {
		return push{}, errcode.New(errcode.Invalid, "the body names no repository")
	}
	return p, nil
}

func (b *body) push(provider gitcache.Provider) (p push) {
	switch provider {
	case gitcache.GitLab:
		p.urls, p.refs, p.head = []string{b.Project.HTTP, b.Project.SSH, b.Project.Web}, append(b.Refs, b.Ref), b.Project.Head
		// System hooks of most kinds have no object_kind.
		kind := cmp.Or(b.ObjectKind, b.EventName, "push")
		p.nothing = kind != "push" && kind != "tag_push" && kind != "repository_update"
	case gitcache.Bitbucket:
		p.urls = b.Repository.urls()
		for _, c := range b.Push.Changes {
			for _, end := range []*struct {
				Name string `json:"name"`
			}{c.New, c.Old} {
				if end != nil {
					p.refs = append(p.refs, end.Name)
				}
			}
		}
		for _, c := range b.Changes {
			p.refs = append(p.refs, c.RefID)
		}
	case gitcache.Azure:
		p.urls, p.nothing, p.head = b.Resource.Repository.urls(), b.EventType != "git.push", b.Resource.Repository.HeadRef
		for _, u := range b.Resource.RefUpdates {
			p.refs = append(p.refs, u.Name)
		}
	case gitcache.Generic:
		p.urls, p.refs = append(b.URLs, b.URL), append(b.Refs, b.Ref)
	default:
		p.urls, p.refs, p.head = b.Repository.urls(), []string{b.Ref}, b.Repository.Head
	}
	return p
}

// touches reports whether a push that changed refs may have moved a source that
// follows ref, of which HEAD is the default branch. Any push may concern a source at a commit, because the source
// may wait for that commit.
func (p push) touches(ref string) bool {
	if len(p.refs) == 0 || isCommit(ref) {
		return true
	}
	if ref == "" || ref == "HEAD" {
		if p.head == "" {
			return true
		}
		ref = p.head
	}
	return slices.ContainsFunc(p.refs, func(changed string) bool { return short(changed) == short(ref) })
}

// short removes the prefix of a ref, which only some providers send.
func short(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if rest, found := strings.CutPrefix(ref, prefix); found {
			return rest
		}
	}
	return ref
}

func isCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}
