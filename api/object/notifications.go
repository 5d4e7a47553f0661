package object

import "github.com/axle-cd/axle/internal/rule"

// NotificationSink is described by the request ApplyNotificationSinkRequest.
var NotificationSink = Kind{
	Name: "NotificationSink", Request: "ApplyNotificationSinkRequest", Text: "A destination of notifications.",
	Diagnostic: true, Noun: "notifications sinks", Flags: []string{"sink"},
	Words: []string{"sink", "sinks"}, Adopts: "adopt",
	Manifest: &Manifest{NotActing: []string{"spec.configuration.plural.urgent"}, Paths: map[string]string{
		"url": "spec.configuration.webhook.url", "secret": "spec.configuration.webhook.secretRef", "unsigned": "spec.configuration.webhook.secretRef",
	}},
	Calls: applied("NotificationSinks"), Listing: "Notification sinks, with their state.", Shows: []string{"host", "signed"},
	Fields: Fields{
		"ApplyNotificationSinkRequest.name":     {Required: true, Immutable: true, Rule: rule.Name, Text: "The name, which cannot change."},
		"ApplyNotificationSinkRequest.settings": {Flat: true},
		"ApplyNotificationSinkRequest.url":      {Secret: true},
		"ApplyNotificationSinkRequest.secret":   {Secret: true},
		"ApplyNotificationSinkRequest.unsigned": {Default: false, Clears: "signed"},
		"ApplyNotificationSinkRequest.dry_run":  {Skip: true},
		"NotificationSinkSettings.type":         {Required: true, Immutable: true, Enum: rule.SinkTypes, Text: rule.Or(rule.SinkTypes) + ". It cannot be changed."},
		"NotificationSinkSettings.project":      {Immutable: true, Reference: "Project"},
		"NotificationSinkSettings.priority":     {Computed: true, Enum: orNone(rule.Priorities)},
		"NotificationSinkSettings.users":        {Set: true, Reference: "User"},
		"NotificationSinkSettings.groups":       {Set: true, Reference: "Group", Text: "Groups whose members see the notifications of a sink of the type PLURAL."},
	},
}

// NotificationRouter is described by the request ApplyNotificationRouterRequest.
var NotificationRouter = Kind{
	Name: "NotificationRouter", Request: "ApplyNotificationRouterRequest", Text: "Which events go to which notification sinks.",
	Noun:  "notifications routers",
	Words: []string{"router", "routers"}, Adopts: "upsert", Manifest: &Manifest{NotActing: []string{"spec.filters[].pipelineRef"}},
	Calls: applied("NotificationRouters"), Listing: "Notification routers.",
	Fields: Fields{
		"ApplyNotificationRouterRequest.name":     {Required: true, Immutable: true, Rule: rule.Name, Text: "The name, which cannot change."},
		"ApplyNotificationRouterRequest.settings": {Flat: true},
		"ApplyNotificationRouterRequest.dry_run":  {Skip: true},
		"NotificationRouterSettings.project":      {Immutable: true, Reference: "Project"},
		"NotificationRouterSettings.events":       {Required: true, Set: true},
		"NotificationRouterSettings.sinks":        {Required: true, Set: true, Reference: "NotificationSink"},
		"NotificationFilter.regex":                {Format: Expression},
		"NotificationFilter.cluster":              {Text: "Only events about this cluster, by name."},
	},
}
