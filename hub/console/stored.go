package console

import (
	"context"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	described "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/console/objectsapi"
	"github.com/axle-cd/axle/hub/console/readinessapi"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/routes"
)

// withTopicRules adds the calls of topics with a file of their own, and those for kinds in the
// table of objects: whoever may read something reads these, and their descriptions say who
// writes them. Writing one that is in no project is about the hub as a whole.
func withTopicRules(rules map[string]rule) map[string]rule {
	maps.Copy(rules, notificationRules)
	maps.Copy(rules, applicationRules)
	maps.Copy(rules, observeRules)
	for _, k := range described.Stored() {
		write := identity.Action(k.Storage.Write)
		get, update, remove := rule{identity.ActionRead, anywhere}, rule{action: write}, rule{action: write}
		if k.Storage.InProject {
			get.find, update.find, remove.find = ofStored(k), ofAppliedStored(k), ofStored(k)
		}
		rules[objectsapi.Procedure(k, k.Calls.List)], rules[objectsapi.Procedure(k, k.Calls.Get)] = rule{identity.ActionRead, anywhere}, get
		rules[objectsapi.Procedure(k, k.Calls.Update)], rules[objectsapi.Procedure(k, k.Calls.Delete)] = update, remove
	}
	return rules
}

// storedNamed is an action on an object that is in a project.
func (s *Server) storedNamed(ctx context.Context, k described.Kind, action identity.Action, name string) (permission, error) {
	n := permission{action: action, what: k.Storage.Called + " " + name, missing: errcode.New(errcode.NotFound, "%s %.80q does not exist; axle %s list shows the existing ones", k.Storage.Called, name, k.Noun)}
	o, err := s.stored().Object(ctx, k, name)
	if err == nil {
		n.scope.Project = o.ProjectID
		n.flag, err = s.projectFlag(ctx, o.ProjectID)
	}
	return n, err
}

func ofStored(k described.Kind) finder {
	return func(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
		return one(s.storedNamed(ctx, k, action, message.(interface{ GetName() string }).GetName()))
	}
}

// ofAppliedStored needs the object that exists, the project that the request names, and what
// is needed to create a service on the cluster that it newly names: that is what it makes there.
func ofAppliedStored(k described.Kind) finder {
	return func(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
		m := message.(proto.Message)
		name, cluster := message.(interface{ GetName() string }).GetName(), objectsapi.Named(m, "cluster")
		at, err := s.storedNamed(ctx, k, action, name)
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return nil, err
		}
		permissions := needed(err == nil, at)
		in, err := one(s.projectPermission(ctx, action, objectsapi.Named(m, "project")))
		if permissions = append(permissions, in...); err != nil || cluster == "" {
			return permissions, err
		}
		had, err := s.stored().Settings(ctx, k, name)
		if err != nil || had != nil && objectsapi.Text(had, "cluster") == cluster {
			return permissions, err
		}
		on, err := one(s.clusterPermission(ctx, identity.ActionCreate, cluster))
		return append(permissions, on...), err
	}
}

// withTopics adds the nouns of those kinds in audit records.
func withTopics(nouns map[string]string) map[string]string {
	for _, k := range described.Stored() {
		nouns[k.Calls.Service] = k.Storage.Topic()
	}
	return nouns
}

// registerStored adds the services of those kinds.
func (s *Server) registerStored(mux routes.Adder, records *recorder) {
	mux.Handle(handle[hubv1connect.ApplicationClientsHandler](s, records, hubv1connect.NewApplicationClientsHandler, &applicationClients{s}))
	api := s.stored()
	for _, k := range described.Stored() {
		mux.Handle(handle(s, records, func(k described.Kind, options ...connect.HandlerOption) (string, http.Handler) {
			return api.Handler(k, options...)
		}, k))
	}
}

func (s *Server) stored() *objectsapi.API {
	return &objectsapi.API{Objects: s.config.Objects, Readable: s.readable, By: func(ctx context.Context) string { return caller(ctx).By() }}
}

// storedSettings are the settings of an object that a call is about, nil for none.
func (s *Server) storedSettings(ctx context.Context, about object) proto.Message {
	for _, k := range described.Stored() {
		if k.Storage.Topic() == about.kind {
			settings, err := s.stored().Settings(ctx, k, about.name)
			if err == nil && settings != nil {
				return settings
			}
		}
	}
	return nil
}

// matrix is the compatibility matrix of an add-on, nil for none. Whoever reads something reads all.
func (s *Server) matrix(ctx context.Context, name string) (*hubv1.CustomCompatibilityMatrixSettings, error) {
	settings, err := s.stored().Settings(ctx, described.CustomCompatibilityMatrix, name)
	matrix, _ := settings.(*hubv1.CustomCompatibilityMatrixSettings)
	if err == nil && matrix == nil {
		matrix = readinessapi.Own(name, s.config.Version)
	}
	return matrix, err
}

// storedIn are the settings in an answer about an object of those kinds, nil for others.
func storedIn(message proto.Message) proto.Message {
	if message == nil {
		return nil
	}
	name := string(message.ProtoReflect().Descriptor().Name())
	for _, k := range described.Stored() {
		if name == k.Request[:len(k.Request)-len("Request")]+"Response" {
			return objectsapi.Applied(message)
		}
	}
	return nil
}
