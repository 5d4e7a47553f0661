package manifest

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/errcode"
)

// StoredSecrets is the annotation that names secrets of an object which the hub has
// already, separated by commas: they stay as the hub has them. Of a repository, the
// credentials are named as a whole. Export writes it, because the hub does not show
// secrets. A value from a Secret wins over it.
const StoredSecrets = kinds.Axle + "/stored-secrets"

// credentials is the name of all the credentials of a repository in StoredSecrets.
const credentials = "credentials"

// storedLogin says what stays of a repository.
const storedLogin = "the credentials of a repository stay as a whole: write " + credentials

// read converts a document, with what its annotations say.
func (d document) read(values Values) (*Item, error) {
	item, err := d.item(values)
	text, says := d.meta.Annotations[StoredSecrets]
	if err != nil || item == nil || !says {
		return item, err
	}
	invalid := func(format string, args ...any) (*Item, error) {
		return nil, errcode.New(errcode.Invalid, "%s: %s %q: metadata.annotations[%q]: "+format, append([]any{d.where, d.meta.Kind, d.meta.Name, StoredSecrets}, args...)...)
	}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return invalid("%q has an empty name; name the keys, separated by commas", text)
		}
		item.Stored = append(item.Stored, name)
	}
	c, _ := converterOf(item.Kind)
	switch {
	case item.Service != nil:
		item.Service.Spec.Secrets = stay(item.Service.GetSpec().GetSecrets(), item.Stored)
	case item.Global != nil:
		item.Global.Spec.Secrets = stay(item.Global.GetSpec().GetSecrets(), item.Stored)
	case item.Namespace.GetSpec() != nil:
		item.Namespace.Spec.Secrets = stay(item.Namespace.GetSpec().GetSecrets(), item.Stored)
	case c.keeps == nil:
		return invalid("the kind has no secrets; remove the annotation")
	case !c.keeps(item):
		return invalid("%q is not known; %s", text, c.secrets)
	}
	return item, nil
}

// keepsValues makes a context keep the values of secrets.
func keepsValues(i *Item) bool {
	c := i.Request.(*hubv1.CreateContextRequest).GetContext()
	c.Secrets = stay(c.GetSecrets(), i.Stored)
	return true
}

// keepsLogin makes a repository keep its credentials, unless it has some of its own.
func keepsLogin(i *Item) bool {
	known := slices.Equal(i.Stored, []string{credentials})
	if i.Request.(*hubv1.CreateRepositoryRequest).GetCredentials() != nil {
		i.Stored = nil
	}
	return known
}

// stay adds names to secrets, with the empty value that keeps the hub's.
func stay(secrets map[string]string, names []string) map[string]string {
	out := map[string]string{}
	for key, value := range secrets {
		out[key] = value
	}
	for _, name := range names {
		if _, given := out[name]; !given {
			out[name] = ""
		}
	}
	return out
}

// Lacks returns Invalid when the item keeps secrets that the hub does not have. have is
// the hub's object of that name, nil if there is none. Without this check a service would
// be created with empty secrets.
func (i *Item) Lacks(have proto.Message) error {
	var known []string
	switch have := have.(type) {
	case *hubv1.Service:
		known = keys(have.GetSpec().GetSecrets())
	case *hubv1.GlobalService:
		known = keys(have.GetSpec().GetSecrets())
	case *hubv1.ManagedNamespace:
		known = keys(have.GetSpec().GetSecrets())
	case *hubv1.Context:
		known = keys(have.GetSecrets())
	case *hubv1.Repository:
		if hasCredentials(have) {
			known = []string{credentials}
		}
	case nil:
	default:
		if c, _ := converterOf(i.Kind); c.stored != nil {
			known = c.stored(have)
		}
	}
	for _, name := range i.Stored {
		if !slices.Contains(known, name) && !i.gives(name) {
			return errcode.New(errcode.Invalid, "the annotation %s keeps %q, which the hub does not have: name a Secret that has it, and remove it from the annotation", StoredSecrets, name)
		}
	}
	return nil
}

// SharedSecrets are the secrets of a ServiceContext, nil for other kinds.
func (i *Item) SharedSecrets() map[string]string {
	request, _ := i.Request.(*hubv1.CreateContextRequest)
	return request.GetContext().GetSecrets()
}

// gives reports whether the item has a value for a secret.
func (i *Item) gives(name string) bool {
	return i.Service.GetSpec().GetSecrets()[name] != "" || i.Global.GetSpec().GetSecrets()[name] != "" || i.Namespace.GetSpec().GetSecrets()[name] != "" || i.SharedSecrets()[name] != ""
}

// hasCredentials reports whether the hub has credentials of a repository.
func hasCredentials(r *hubv1.Repository) bool {
	return r.GetAuth() != "" && r.GetAuth() != "none" && !r.GetOptions().GetHubIdentity()
}
