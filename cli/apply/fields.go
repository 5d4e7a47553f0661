package apply

import (
	"context"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/plan"
	"github.com/axle-cd/axle/internal/jsondiff"
	"github.com/axle-cd/axle/sdk/manifest"
)

// maxAsked bounds the secrets of one object that the hub is asked about one by one.
const maxAsked = 32

// fields are what an apply would change of an object, have being nil for a new one.
func (r *applying) fields(ctx context.Context, item manifest.Item, have proto.Message) ([]plan.Field, error) {
	want := wantTree(item, have)
	// The hub says what a spec becomes, with what it fills in.
	switch {
	case item.Service != nil:
		answer, err := r.client.Services.Apply(ctx, connect.NewRequest(item.Service))
		if err != nil {
			return nil, err
		}
		want = serviceTree(answer.Msg.GetService())
	case item.Global != nil:
		answer, err := r.client.GlobalServices.Apply(ctx, connect.NewRequest(item.Global))
		if err != nil {
			return nil, err
		}
		want = globalTree(answer.Msg.GetGlobalService())
	case item.Namespace != nil:
		answer, err := r.client.ManagedNamespaces.Apply(ctx, connect.NewRequest(item.Namespace))
		if err != nil {
			return nil, err
		}
		want = namespaceTree(answer.Msg.GetNamespace())
	}
	fields := jsondiff.Of(haveTree(item, have), want)
	secrets, err := r.secrets(ctx, item, have)
	fields = append(fields, secrets...)
	if owned, ok := have.(interface{ GetManagedBy() *hubv1.Manager }); ok && have != nil && takes(owned.GetManagedBy(), r.management) {
		fields = append(fields, plan.Field{Path: "managedBy", Old: managerText(owned.GetManagedBy()), New: managerText(r.management.GetBy())})
	}
	return fields, err
}

// haveTree and wantTree are an object as the hub has it, and as the files declare it, in
// fields of the same names. Secrets are not in them.
func haveTree(item manifest.Item, have proto.Message) any {
	switch have := have.(type) {
	case *hubv1.Project:
		return map[string]any{"name": have.GetName(), "description": have.GetDescription()}
	case *hubv1.Repository:
		return repositoryTree(have.GetType(), have.GetUrl(), have.GetOptions())
	case *hubv1.Cluster:
		return clusterTree(have.GetTags(), have.GetMetadata(), item.Cluster)
	case *hubv1.Context:
		return contextTree(have)
	case *hubv1.GlobalService:
		return globalTree(have)
	case *hubv1.ManagedNamespace:
		return namespaceTree(have)
	case *hubv1.Service:
		return serviceTree(have)
	}
	return nil
}

func wantTree(item manifest.Item, have proto.Message) any {
	switch request := item.Request.(type) {
	case *hubv1.CreateProjectRequest:
		return map[string]any{"name": request.GetName(), "description": request.GetDescription()}
	case *hubv1.CreateRepositoryRequest:
		options := request.GetOptions()
		if have, ok := have.(*hubv1.Repository); ok && item.Kind != object.Repository.Name {
			if options = manifest.RepositoryOptions(have.GetOptions(), options); options == nil {
				options = have.GetOptions()
			}
		}
		return repositoryTree(request.GetType(), request.GetUrl(), options)
	case *hubv1.CreateContextRequest:
		return contextTree(request.GetContext())
	}
	switch {
	case item.Cluster != nil:
		return clusterTree(item.Cluster.GetTags(), item.Cluster.GetMetadata(), item.Cluster)
	case item.Global != nil:
		return globalTree(&hubv1.GlobalService{Settings: item.Global.GetSettings(), Spec: item.Global.GetSpec()})
	case item.Namespace != nil:
		return namespaceTree(&hubv1.ManagedNamespace{Settings: item.Namespace.GetSettings(), Spec: item.Namespace.GetSpec()})
	case item.Service != nil:
		project := item.Service.GetProject()
		if have, ok := have.(*hubv1.Service); ok && project == "" {
			project = have.GetProject()
		}
		return serviceTree(&hubv1.Service{Project: project, Spec: item.Service.GetSpec()})
	}
	return nil
}

func repositoryTree(kind, url string, options *hubv1.RepositoryOptions) any {
	return map[string]any{"type": kind, "url": url, "options": treeOf(options)}
}

// clusterTree has only what the request sets.
func clusterTree(tags map[string]string, metadata string, request *hubv1.UpdateClusterRequest) any {
	tree := map[string]any{}
	if request.GetSetTags() {
		all := map[string]any{}
		for name, value := range tags {
			all[name] = value
		}
		tree["tags"] = all
	}
	if request.GetSetMetadata() {
		tree["metadata"] = jsonOf(metadata)
	}
	return tree
}

func contextTree(c *hubv1.Context) any {
	return map[string]any{"project": c.GetProject(), "configuration": jsonOf(c.GetValues()), "secrets": hidden(c.GetSecrets())}
}

func serviceTree(s *hubv1.Service) any {
	tree := specTree(s.GetSpec())
	tree["project"] = s.GetProject()
	return tree
}

func globalTree(g *hubv1.GlobalService) any {
	tree := treeOf(g.GetSettings())
	delete(tree, "context")
	if context := jsonOf(g.GetSettings().GetContext()); context != nil {
		tree["context"] = context
	}
	tree["template"] = specTree(g.GetSpec())
	return tree
}

func namespaceTree(n *hubv1.ManagedNamespace) any {
	tree := treeOf(n.GetSettings())
	if n.GetSpec() != nil {
		tree["service"] = specTree(n.GetSpec())
	}
	return tree
}

func specTree(spec *hubv1.ServiceSpec) map[string]any {
	tree := treeOf(spec)
	delete(tree, "secrets")
	if keys := hidden(spec.GetSecrets()); len(keys) > 0 {
		tree["secrets"] = keys
	}
	return tree
}

// hidden are secrets without their values: a key that goes or comes is a change, and
// given says the rest.
func hidden(secrets map[string]string) map[string]any {
	out := map[string]any{}
	for key := range secrets {
		out[key] = plan.Stored
	}
	return out
}

func secretsOf(item manifest.Item) map[string]string {
	switch {
	case item.Service != nil:
		return item.Service.GetSpec().GetSecrets()
	case item.Global != nil:
		return item.Global.GetSpec().GetSecrets()
	case item.Namespace != nil:
		return item.Namespace.GetSpec().GetSecrets()
	}
	return item.SharedSecrets()
}

// knownSecrets are the keys that the hub has, with the path under which fields have them.
func knownSecrets(have proto.Message) (map[string]string, string) {
	switch have := have.(type) {
	case *hubv1.Service:
		return have.GetSpec().GetSecrets(), "secrets."
	case *hubv1.GlobalService:
		return have.GetSpec().GetSecrets(), "template.secrets."
	case *hubv1.ManagedNamespace:
		return have.GetSpec().GetSecrets(), "service.secrets."
	case *hubv1.Context:
		return have.GetSecrets(), "secrets."
	}
	return nil, "secrets."
}

// given are the secrets that the files give and the hub has, without a comparison.
func given(have proto.Message, secrets map[string]string) (fields []plan.Field) {
	known, under := knownSecrets(have)
	for _, key := range slices.Sorted(maps.Keys(secrets)) {
		if _, has := known[key]; has && secrets[key] != "" {
			fields = append(fields, plan.Field{Path: under + key, Old: plan.Stored, New: plan.Given})
		}
	}
	return fields
}

// secrets are the secrets whose values would change. Only the hub can compare the values
// of services; those of contexts and credentials are sent again by every apply.
func (r *applying) secrets(ctx context.Context, item manifest.Item, have proto.Message) ([]plan.Field, error) {
	if repository, ok := have.(*hubv1.Repository); ok {
		if proto.Size(repositoryOf(item).GetCredentials()) == 0 {
			return nil, nil
		}
		field := plan.Field{Path: "credentials", New: plan.Given}
		if auth := repository.GetAuth(); auth != "" && auth != "none" {
			field.Old = plan.Stored
		}
		return []plan.Field{field}, nil
	}
	if have == nil {
		if proto.Size(repositoryOf(item).GetCredentials()) > 0 {
			return []plan.Field{{Path: "credentials", New: plan.Given}}, nil
		}
		return nil, nil
	}
	all := given(have, secretsOf(item))
	if item.Request != nil || len(all) == 0 || len(all) > maxAsked {
		return all, nil
	}
	var changed []plan.Field
	for _, field := range all {
		_, key, _ := strings.Cut(field.Path, "secrets.")
		differs, err := r.differs(ctx, item, have, key)
		if err != nil {
			return nil, err
		}
		if differs {
			changed = append(changed, field)
		}
	}
	return changed, nil
}

// differs asks the hub whether one secret has another value: everything else is sent as
// the hub has it.
func (r *applying) differs(ctx context.Context, item manifest.Item, have proto.Message, key string) (bool, error) {
	value := secretsOf(item)[key]
	switch have := proto.Clone(have).(type) {
	case *hubv1.Service:
		have.Spec.Secrets[key] = value
		answer, err := r.client.Services.Apply(ctx, connect.NewRequest(&hubv1.ApplyServiceRequest{Ref: item.Service.GetRef(), Spec: have.GetSpec(), DryRun: true, Management: asOwner(have.GetManagedBy())}))
		if err != nil {
			return false, err
		}
		return answer.Msg.GetResult() != "unchanged", nil
	case *hubv1.GlobalService:
		have.Spec.Secrets[key] = value
		answer, err := r.client.GlobalServices.Apply(ctx, connect.NewRequest(&hubv1.ApplyGlobalServiceRequest{Name: have.GetName(), Settings: have.GetSettings(), Spec: have.GetSpec(), DryRun: true, Management: asOwner(have.GetManagedBy())}))
		if err != nil {
			return false, err
		}
		return answer.Msg.GetResult() != "unchanged", nil
	case *hubv1.ManagedNamespace:
		have.Spec.Secrets[key] = value
		answer, err := r.client.ManagedNamespaces.Apply(ctx, connect.NewRequest(&hubv1.ApplyManagedNamespaceRequest{Name: have.GetName(), Settings: have.GetSettings(), Spec: have.GetSpec(), DryRun: true, Management: asOwner(have.GetManagedBy())}))
		if err != nil {
			return false, err
		}
		return answer.Msg.GetResult() != "unchanged", nil
	}
	return true, nil
}

// asOwner is the manager that the object has, so that only its fields are compared. The
// request is a dry run.
func asOwner(have *hubv1.Manager) *hubv1.Management {
	if have.GetTool() == "" {
		return command.Management()
	}
	return &hubv1.Management{By: have}
}
