package application

// Login is what is known of a person's logins to an application.
type Login struct {
	// Client, Name and Title are those of the application.
	Client, Name, Title string
	UserID, User        string
	// Scopes are what the person agreed to give, AgreedAt when; 0 where only a device asked.
	Scopes   []string
	AgreedAt int64
	// LastAt is the last login, Live how many have not ended.
	LastAt, Live int64
}
