package kinds

// Write says which object expresses the same as a call that writes.
type Write struct {
	// Call is Service/Method of axle.hub.v1.
	Call string
	// Kind is the kind of the object. Also are simpler kinds for the same.
	Kind string
	Also []string
	// Path is the field of the object. It is empty for a call that corresponds to
	// the deletion of the object.
	Path string
	// Fields maps each field of the request to the path of the same in Kind or,
	// written as Kind:path, in another kind. OfTheCall marks fields of the request
	// that no object has.
	Fields map[string]string
}

// OfTheCall marks fields that say how a call is made and leave nothing behind.
const OfTheCall = "-"

// Writes lists the calls that write, except for Exceptions.
var Writes = append([]Write{
	// Whether a project is one of administrators only is no field: who may write objects of
	// a namespace does not decide it.
	{"Projects/Create", "Project", nil, "spec", map[string]string{"name": "spec.name", "description": "spec.description", "limits": "ProjectLimits:spec", "administrators_only": OfTheCall, "management": OfTheCall}},
	{"Projects/Update", "Project", nil, "spec", map[string]string{"name": "spec.name", "description": "spec.description", "limits": "ProjectLimits:spec", "management": OfTheCall}},
	{"Projects/Delete", "Project", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},

	{"Clusters/Create", "ClusterRegistration", nil, "spec", map[string]string{"name": "spec.name", "handle": "spec.handle", "project": "spec.project",
		"tags": "spec.tags", "metadata": "spec.metadata", "renew_token": "spec.tokenSecretRef", "from_template": "spec.templateRef", "management": OfTheCall}},
	{"Clusters/Update", "Cluster", nil, "spec", map[string]string{"name": "metadata.name", "handle": "spec.handle", "tags": "spec.tags", "set_tags": "spec.tags",
		"metadata": "spec.metadata", "set_metadata": "spec.metadata", "variables": "ClusterRegistration:spec.variables", "set": OfTheCall, "pool": OfTheCall, "dry_run": OfTheCall, "management": OfTheCall}},
	{"Clusters/Move", "Cluster", nil, "spec", map[string]string{"name": "metadata.name", "project": "spec.projectRef", "plan": OfTheCall, "confirm": OfTheCall, "management": OfTheCall}},
	{"Clusters/Delete", "ClusterRegistration", nil, "", map[string]string{"name": "spec.name", "detach": "spec.detach", "management": OfTheCall}},

	{"Repositories/Create", "Repository", []string{"GitRepository", "HelmRepository"}, "spec", map[string]string{"name": "spec.name", "project": "spec.project",
		"type": "spec.type", "url": "spec.url", "credentials": "spec.credentialsRef", "auth": "spec.auth", "options": "spec", "management": OfTheCall}},
	{"Repositories/Update", "Repository", []string{"GitRepository", "HelmRepository"}, "spec", map[string]string{"name": "spec.name", "url": "spec.url",
		"credentials": "spec.credentialsRef", "auth": "spec.auth", "options": "spec", "management": OfTheCall}},
	{"Repositories/Delete", "Repository", []string{"GitRepository", "HelmRepository"}, "", map[string]string{"name": "spec.name", "management": OfTheCall}},
	{"Webhooks/Create", "Webhook", nil, "spec", map[string]string{"name": "spec.name", "provider": "spec.provider",
		"repository": "spec.repository", "secret": "spec.secretRef", "management": OfTheCall}},
	{"Webhooks/Delete", "Webhook", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},

	{"Services/Create", "ServiceDeployment", nil, "spec", map[string]string{"ref": "spec.cluster", "spec": "spec", "project": "spec.projectRef", "dry_run": OfTheCall,
		"management": OfTheCall}},
	{"Services/Update", "ServiceDeployment", nil, "spec", map[string]string{"ref": "spec.cluster", "spec": "spec", "fields": OfTheCall, "dry_run": OfTheCall,
		"management": OfTheCall}},
	{"Services/Apply", "ServiceDeployment", nil, "spec", map[string]string{"ref": "spec.cluster", "spec": "spec", "project": "spec.projectRef",
		"parent_id": "metadata.annotations", "dry_run": OfTheCall, "management": OfTheCall}},
	{"Services/Pause", "ServiceDeployment", nil, "spec.paused", map[string]string{"ref": "spec.cluster", "reason": OfTheCall}},
	{"Services/Resume", "ServiceDeployment", nil, "spec.paused", map[string]string{"ref": "spec.cluster"}},
	{"Services/Rollback", "ServiceDeployment", nil, "spec.pinnedRevision", map[string]string{"ref": "spec.cluster", "revision": "spec.pinnedRevision", "reason": OfTheCall}},
	{"Services/Delete", "ServiceDeployment", nil, "", map[string]string{"ref": "spec.cluster", "detach": "spec.detach", "management": OfTheCall}},

	{"GlobalServices/Apply", "GlobalService", nil, "spec", map[string]string{"name": "spec.name", "settings": "spec", "spec": "spec.template", "dry_run": OfTheCall,
		"management": OfTheCall}},
	{"GlobalServices/PauseRollout", "RolloutPolicy", nil, "spec.state", map[string]string{"name": "spec.targetRefs"}},
	{"GlobalServices/ResumeRollout", "RolloutPolicy", nil, "spec.state", map[string]string{"name": "spec.targetRefs"}},
	{"GlobalServices/AbortRollout", "RolloutPolicy", nil, "spec.state", map[string]string{"name": "spec.targetRefs"}},
	{"GlobalServices/Delete", "GlobalService", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},
	{"ManagedNamespaces/Apply", "ManagedNamespace", nil, "spec", map[string]string{"name": "spec.name", "settings": "spec", "spec": "spec.service", "dry_run": OfTheCall,
		"management": OfTheCall}},
	{"ManagedNamespaces/Delete", "ManagedNamespace", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},

	{"Contexts/Create", "ServiceContext", nil, "spec", map[string]string{"context": "spec", "management": OfTheCall}},
	{"Contexts/Update", "ServiceContext", nil, "spec", map[string]string{"context": "spec", "merge": OfTheCall, "unset": OfTheCall, "global": "spec.projectRef", "management": OfTheCall}},
	{"Contexts/Delete", "ServiceContext", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},
	{"Outputs/Put", "Outputs", nil, "spec", map[string]string{"outputs": "spec", "global": "spec.project", "management": OfTheCall}},
	{"Outputs/Delete", "Outputs", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},
	{"Backends/Migrate", "BackendMigration", nil, "spec", map[string]string{"from": "spec.from", "to": "spec.to"}},

	{"Tokens/CreateBootstrap", "RegistrationToken", []string{"BootstrapToken"}, "spec", map[string]string{"project": "spec.project",
		"name_pattern": "spec.namePattern", "allowed_tags": "spec.allowedTags", "max_uses": "spec.maxUses", "lifetime_micros": "spec.lifetime", "approved": "spec.approved", "management": OfTheCall}},
	{"Agents/StartUpgrade", "AgentUpgrade", nil, "spec", map[string]string{"version": "spec.version", "image": "spec.image", "waves": "spec.waves",
		"soak_micros": "spec.soak", "max_unavailable": "spec.maxUnavailable", "management": OfTheCall}},
	{"Agents/PauseUpgrade", "AgentUpgrade", nil, "spec.state", nil},
	{"Agents/ResumeUpgrade", "AgentUpgrade", nil, "spec.state", nil},
	{"Agents/AbortUpgrade", "AgentUpgrade", nil, "spec.state", nil},
	{"Hub/SetSyncWindows", "HubSettings", nil, "spec.syncWindows", map[string]string{"sync_windows": "spec.syncWindows", "management": OfTheCall, "managed_by": OfTheCall}},

	{"Users/Create", "User", nil, "spec", map[string]string{"email": "spec.email", "admin": "AdminGrant:spec.user", "token_scopes": OfTheCall,
		"token_lifetime_micros": OfTheCall, "management": OfTheCall}},
	{"Users/SetAdmin", "AdminGrant", nil, "spec.user", map[string]string{"name": "spec.user", "admin": "spec.user", "management": OfTheCall}},
	{"Users/Delete", "User", nil, "", map[string]string{"name": "spec.email", "management": OfTheCall}},
	{"Groups/Create", "Group", nil, "spec", map[string]string{"name": "spec.name", "description": "spec.description", "management": OfTheCall}},
	{"Groups/Delete", "Group", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},
	{"Groups/AddMember", "GroupMembership", nil, "spec.members", map[string]string{"group": "spec.group", "user": "spec.members[].user", "management": OfTheCall}},
	{"Groups/RemoveMember", "GroupMembership", nil, "spec.members", map[string]string{"group": "spec.group", "user": "spec.members[].user", "management": OfTheCall}},
	{"Bindings/Create", "AccessBinding", []string{"Project", "Cluster", "ServiceDeployment", "DeploymentSettings"}, "spec", map[string]string{
		"subject_kind": "spec.subjects", "subject": "spec.subjects", "actions": "spec.actions", "place": "spec.place", "management": OfTheCall}},
	{"Bindings/Delete", "AccessBinding", []string{"Project", "Cluster", "ServiceDeployment", "DeploymentSettings"}, "", map[string]string{
		"subject_kind": "spec.subjects", "subject": "spec.subjects", "actions": "spec.actions", "place": "spec.place", "management": OfTheCall}},
	{"Providers/Create", "LoginProvider", nil, "spec", map[string]string{"provider": "spec", "client_secret": "spec.clientSecretRef", "management": OfTheCall}},
	{"Providers/Update", "LoginProvider", nil, "spec", map[string]string{"provider": "spec", "client_secret": "spec.clientSecretRef", "set": OfTheCall, "management": OfTheCall}},
	{"Providers/Delete", "LoginProvider", nil, "", map[string]string{"name": "spec.name", "management": OfTheCall}},

	{"ServiceAccounts/Create", "ServiceAccount", nil, "spec", map[string]string{"name": "spec.email", "admin": "AdminGrant:spec.serviceAccount", "management": OfTheCall}},
	{"ServiceAccounts/Delete", "ServiceAccount", nil, "", map[string]string{"name": "spec.email", "management": OfTheCall}},
	{"ServiceAccounts/CreateToken", "ServiceAccount", nil, "spec.tokenSecretRef", map[string]string{"account": "spec.email", "name": "spec.tokenSecretRef",
		"scopes": "spec.scopes", "lifetime_micros": "spec.tokenExpiry", "management": OfTheCall}},
	{"Federation/Create", "FederationTrust", []string{"FederatedCredential"}, "spec", map[string]string{"name": "spec.name", "issuer": "spec.issuer",
		"audience": "spec.audience", "claims": "spec.claims", "account": "spec.serviceAccount", "scopes": "spec.scopes", "lifetime_micros": "spec.lifetime", "ca_pem": "spec.caPem", "management": OfTheCall}},
	{"Federation/Delete", "FederationTrust", []string{"FederatedCredential"}, "", map[string]string{"name": "spec.name", "management": OfTheCall}},
}, describedWrites()...)

// Exception is a group of calls that no object expresses.
type Exception struct {
	What, Why string
	Calls     []string
}

// Exceptions lists all calls that write and have no kind. A call that leaves
// something behind that a file could declare gets a kind, or a field of one.
var Exceptions = []Exception{
	{"sessions", "They belong to one person, who is at a browser or a terminal, as does what that person has read.", []string{"Sessions/Setup", "Logins/EndSession", "Logins/EndSessions", "Logins/LeaveApplication", "ApplicationClients/EndLogins", "Notifications/MarkRead"}},
	{"logins", "These calls are the steps of a login. They end in a session, a token, or the page of a trial.", []string{"Logins/Trade", "Logins/StartDevice", "Logins/PollDevice", "Logins/Unlink", "Providers/Try", "Federation/Exchange"}},
	{"one-time tokens", "The secret is shown once, to the person or program that asks for it.", []string{"Tokens/Create", "Tokens/Revoke", "ClusterAPI/CreateCredential", "ClusterAPI/CreateTicket"}},
	{"approvals", "A person approves one thing that waits. A file would also approve the next one.", []string{"Clusters/Approve", "Services/ApprovePrune"}},
	{"key rotation", "It happens once, at a time that a person chooses.", []string{"Backends/RotateKey", "Hub/RotateSigningKey", "ApplicationClients/Rotate"}},
	{"ReplaceMachine", "It acts once, on one machine that has a fault. A file would act on the next one.", []string{"Clusters/ReplaceMachine"}},
	{"SettleOrphan", "It ends one service that no file declares. A file would end the next one that comes back.", []string{"Clusters/SettleOrphan"}},
	{"Destroy", "It removes machines. A file that is deleted, or a field that is missed, must not do that.", []string{"Clusters/Destroy"}},
	{"InstallComponents", "The component files come with the call, in the versions of the hub that is asked: nothing of them is left to declare.", []string{"Clusters/InstallComponents"}},
	{"ConfirmRestore", "A person confirms that they have checked a restored hub.", []string{"Hub/ConfirmRestore"}},
	{"Drain", "It is about one replica that is about to be removed.", []string{"Hub/Drain"}},
	{"Sync", "It starts at once what would happen later anyway. An operation acts once on services, each of which has fields for it.", []string{"Services/Sync", "Operations/Start", "Operations/Cancel"}},
	{"Refresh", "It starts at once what would happen later anyway.", []string{"Repositories/Refresh"}},
}
