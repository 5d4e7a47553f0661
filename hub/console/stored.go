package console

import (
	"context"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	described "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/console/objectsapi"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/routes"
)

// withActions adds the calls of topics with a file of their own, and those for kinds in the
// table of objects: whoever may read something reads these, and their descriptions say who
// writes them.
func withActions(actions map[string]identity.Action) map[string]identity.Action {
	maps.Copy(actions, notificationActions)
	for _, k := range described.Stored() {
		for _, method := range []string{k.Calls.List, k.Calls.Get} {
			actions[objectsapi.Procedure(k, method)] = identity.ActionRead
		}
		for _, method := range []string{k.Calls.Update, k.Calls.Delete} {
			actions[objectsapi.Procedure(k, method)] = identity.Action(k.Storage.Write)
		}
	}
	return actions
}

// withFinders adds how the objects of those calls are found. Writing one of the table is about
// the hub as a whole, and has no finder.
func withFinders(finders map[string]finder) map[string]finder {
	maps.Copy(finders, notificationScopes)
	for _, k := range described.Stored() {
		finders[objectsapi.Procedure(k, k.Calls.List)], finders[objectsapi.Procedure(k, k.Calls.Get)] = anywhere, anywhere
	}
	return finders
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
